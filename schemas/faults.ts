import type { Language } from './languages.ts'

/** Why one place of a request was refused; the `code` inside `details`. */
export const faultTable = {
  required: { en: 'This member is required.', ru: 'Это поле обязательно.' },
  wrong_type: { en: 'This value has the wrong type.', ru: 'Неверный тип значения.' },
  unknown_field: { en: 'The interface knows no such member.', ru: 'Такого поля в интерфейсе нет.' },
  too_long: { en: 'This text is too long.', ru: 'Слишком длинный текст.' },
  too_short: { en: 'This text is too short.', ru: 'Слишком короткий текст.' },
  too_many: { en: 'This holds too many entries.', ru: 'Слишком много элементов.' },
  too_deep: { en: 'This is nested too deeply.', ru: 'Слишком глубокая вложенность.' },
  forbidden_name: { en: 'This member name is not allowed.', ru: 'Это имя поля не допускается.' },
  invalid_format: { en: 'This value has the wrong format.', ru: 'Неверный формат значения.' },
} as const satisfies Record<string, Record<Language, string>>

export type FaultCode = keyof typeof faultTable
export type Fault = { readonly pointer: string; readonly code: FaultCode }
