import type { Language } from './primitives.ts'

export { type Language, languages } from './primitives.ts'

type Texts = Readonly<Record<Language, string>>
type ErrorEntry = { readonly status: number; readonly title: Texts; readonly message: Texts }

/**
 * Every error of the HTTP interface. A message states what happened, what was stored and what to do. Titles and messages
 * may change. A released code never changes.
 */
export const errorTable = {
  invalid_json: {
    status: 400,
    title: { en: 'Invalid JSON', ru: 'Некорректный JSON' },
    message: {
      en: 'The body is not valid JSON in UTF-8. Nothing was imported. Correct the body and send it again.',
      ru: 'Тело запроса не является корректным JSON в кодировке UTF-8. Ничего не импортировано. Исправьте тело и отправьте запрос снова.',
    },
  },
  invalid_encoding: {
    status: 400,
    title: { en: 'Invalid content encoding', ru: 'Некорректное сжатие' },
    message: {
      en: 'The body does not match its Content-Encoding. Nothing was imported. Compress the body again or send it uncompressed.',
      ru: 'Тело запроса не соответствует заголовку Content-Encoding. Ничего не импортировано. Сожмите тело заново или отправьте его без сжатия.',
    },
  },
  bad_request: {
    status: 400,
    title: { en: 'Bad request', ru: 'Некорректный запрос' },
    message: {
      en: 'The request is not valid HTTP. Nothing was stored. Check the program that sends the request.',
      ru: 'Запрос нарушает протокол HTTP. Ничего не сохранено. Проверьте программу, которая отправляет запрос.',
    },
  },
  validation_failed: {
    status: 400,
    title: { en: 'Validation failed', ru: 'Ошибка проверки' },
    message: {
      en: 'The request does not have the required format. Nothing was stored. Correct the values listed in `details` and send the request again.',
      ru: 'Запрос не соответствует требуемому формату. Ничего не сохранено. Исправьте ошибки, перечисленные в `details`, и отправьте запрос снова.',
    },
  },
  empty_import: {
    status: 400,
    title: { en: 'Empty import', ru: 'Пустой импорт' },
    message: {
      en: 'The array contains no contacts. Nothing was imported. Send at least one contact.',
      ru: 'Массив не содержит контактов. Ничего не импортировано. Отправьте хотя бы один контакт.',
    },
  },
  idempotency_key_missing: {
    status: 400,
    title: { en: 'Idempotency key missing', ru: 'Нет ключа идемпотентности' },
    message: {
      en: 'The Idempotency-Key header is missing. Nothing was imported. Send a new UUID for each import, and the same UUID when you repeat it.',
      ru: 'Отсутствует заголовок Idempotency-Key. Ничего не импортировано. Отправляйте новый UUID для каждого импорта и тот же UUID при повторе.',
    },
  },
  idempotency_key_invalid: {
    status: 400,
    title: { en: 'Idempotency key invalid', ru: 'Некорректный ключ идемпотентности' },
    message: {
      en: 'The Idempotency-Key is not 1 to 255 visible ASCII characters. Nothing was imported. Send a UUID.',
      ru: 'Idempotency-Key должен содержать от 1 до 255 видимых символов ASCII. Ничего не импортировано. Отправьте UUID.',
    },
  },
  header_invalid: {
    status: 400,
    title: { en: 'Header invalid', ru: 'Некорректный заголовок' },
    message: {
      en: 'A header is invalid: X-Correlation-ID must be a UUID, X-Debug must be true or false. Nothing was stored.',
      ru: 'Некорректный заголовок: X-Correlation-ID должен быть UUID, X-Debug — true или false. Ничего не сохранено.',
    },
  },
  unauthorized: {
    status: 401,
    title: { en: 'Unauthorized', ru: 'Требуется авторизация' },
    message: {
      en: 'The API key is missing or not valid. Send a valid key: Authorization: Bearer <API key>.',
      ru: 'Ключ API отсутствует или недействителен. Отправьте действующий ключ: Authorization: Bearer <ключ API>.',
    },
  },
  signature_missing: {
    status: 401,
    title: { en: 'Signature missing', ru: 'Нет подписи' },
    message: {
      en: 'This API client must sign its requests. Nothing was imported. Send both X-Signature and X-Timestamp.',
      ru: 'Этот клиент API должен подписывать запросы. Ничего не импортировано. Отправьте заголовки X-Signature и X-Timestamp.',
    },
  },
  signature_invalid: {
    status: 401,
    title: { en: 'Signature invalid', ru: 'Неверная подпись' },
    message: {
      en: 'X-Signature does not match X-Timestamp and the bytes of the body. Nothing was imported. Sign them with the current secret and send the request again.',
      ru: 'X-Signature не соответствует X-Timestamp и байтам тела запроса. Ничего не импортировано. Подпишите их действующим секретом и отправьте запрос снова.',
    },
  },
  timestamp_out_of_range: {
    status: 401,
    title: { en: 'Timestamp out of range', ru: 'Недопустимая метка времени' },
    message: {
      en: 'X-Timestamp is not an RFC 3339 timestamp close to the current time. Nothing was imported. Check your clock, sign the request again and send it.',
      ru: 'X-Timestamp не является меткой времени RFC 3339, близкой к текущему времени. Ничего не импортировано. Проверьте часы, подпишите запрос заново и отправьте его.',
    },
  },
  ip_not_allowed: {
    status: 403,
    title: { en: 'Address not allowed', ru: 'Адрес не разрешён' },
    message: {
      en: 'This API client cannot be used from your IP address. Ask an administrator to allow the address.',
      ru: 'Этот клиент API нельзя использовать с вашего IP-адреса. Попросите администратора разрешить этот адрес.',
    },
  },
  permission_denied: {
    status: 403,
    title: { en: 'Permission denied', ru: 'Недостаточно прав' },
    message: {
      en: 'This API client does not have the permission for this operation. Ask an administrator to grant it.',
      ru: 'У этого клиента API нет права на эту операцию. Попросите администратора выдать это право.',
    },
  },
  job_not_found: {
    status: 404,
    title: { en: 'Job not found', ru: 'Задание не найдено' },
    message: {
      en: 'This API client has no import job with this id. Check the job_id.',
      ru: 'У этого клиента API нет задания импорта с таким идентификатором. Проверьте job_id.',
    },
  },
  idempotency_key_not_found: {
    status: 404,
    title: { en: 'Idempotency key not found', ru: 'Ключ идемпотентности не найден' },
    message: {
      en: 'This API client has no record of this idempotency key, or the record has expired.',
      ru: 'У этого клиента API нет записи с таким ключом идемпотентности, или срок её хранения истёк.',
    },
  },
  route_not_found: {
    status: 404,
    title: { en: 'Route not found', ru: 'Путь не найден' },
    message: {
      en: 'This path does not exist. The API reference is at /docs.',
      ru: 'Такого пути нет. Справочник по API находится по адресу /docs.',
    },
  },
  method_not_allowed: {
    status: 405,
    title: { en: 'Method not allowed', ru: 'Метод не поддерживается' },
    message: {
      en: 'This path does not support this method. The Allow header lists the supported methods.',
      ru: 'Этот путь не поддерживает такой метод. Поддерживаемые методы перечислены в заголовке Allow.',
    },
  },
  request_timeout: {
    status: 408,
    title: { en: 'Request timeout', ru: 'Время ожидания истекло' },
    message: {
      en: 'The request did not arrive completely in time. Nothing was stored. Send it again.',
      ru: 'Запрос не был получен полностью за отведённое время. Ничего не сохранено. Отправьте его снова.',
    },
  },
  request_in_progress: {
    status: 409,
    title: { en: 'Request in progress', ru: 'Запрос обрабатывается' },
    message: {
      en: 'The first request with this Idempotency-Key is still being processed. Repeat your request unchanged after the time in Retry-After.',
      ru: 'Первый запрос с этим Idempotency-Key ещё обрабатывается. Повторите запрос без изменений через время, указанное в Retry-After.',
    },
  },
  payload_too_large: {
    status: 413,
    title: { en: 'Payload too large', ru: 'Слишком большой запрос' },
    message: {
      en: 'The import exceeds the size limit. Nothing was imported. Split it into smaller imports.',
      ru: 'Импорт превышает допустимый размер. Ничего не импортировано. Разделите его на несколько импортов.',
    },
  },
  uri_too_long: {
    status: 414,
    title: { en: 'URI too long', ru: 'Слишком длинный URI' },
    message: {
      en: 'The URL of the request is too long. Nothing was stored. Send a shorter URL.',
      ru: 'URL запроса слишком длинный. Ничего не сохранено. Отправьте более короткий URL.',
    },
  },
  unsupported_media_type: {
    status: 415,
    title: { en: 'Unsupported media type', ru: 'Неподдерживаемый тип содержимого' },
    message: {
      en: 'The service does not support this Content-Type or Content-Encoding. Nothing was imported. Send application/json in UTF-8, uncompressed or with gzip.',
      ru: 'Сервис не поддерживает такой Content-Type или Content-Encoding. Ничего не импортировано. Отправьте application/json в UTF-8 без сжатия или со сжатием gzip.',
    },
  },
  idempotency_conflict: {
    status: 422,
    title: { en: 'Idempotency conflict', ru: 'Конфликт идемпотентности' },
    message: {
      en: 'This Idempotency-Key was already used with a different body. This body was not imported. Use a new key for a new import.',
      ru: 'Этот Idempotency-Key уже использован с другим телом запроса. Это тело не импортировано. Для нового импорта используйте новый ключ.',
    },
  },
  rate_limit_exceeded: {
    status: 429,
    title: { en: 'Rate limit exceeded', ru: 'Превышен лимит запросов' },
    message: {
      en: 'This API client sends too many requests. Nothing was stored. Repeat the request after the time in Retry-After, with exponential backoff.',
      ru: 'Этот клиент API отправляет слишком много запросов. Ничего не сохранено. Повторите запрос через время, указанное в Retry-After, увеличивая паузу при каждом повторе.',
    },
  },
  headers_too_large: {
    status: 431,
    title: { en: 'Headers too large', ru: 'Слишком большие заголовки' },
    message: {
      en: 'The headers of the request are too large. Nothing was stored. Send fewer or shorter headers.',
      ru: 'Заголовки запроса слишком велики. Ничего не сохранено. Отправьте меньше заголовков или сократите их.',
    },
  },
  internal_error: {
    status: 500,
    title: { en: 'Internal error', ru: 'Внутренняя ошибка' },
    message: {
      en: 'The service failed. The request may have been processed. Repeat it with the same Idempotency-Key: nothing is imported twice. If the error persists, report the correlation_id.',
      ru: 'Произошёл сбой сервиса. Возможно, запрос был обработан. Повторите его с тем же Idempotency-Key: ничего не будет импортировано дважды. Если ошибка повторится, сообщите correlation_id.',
    },
  },
  service_unavailable: {
    status: 503,
    title: { en: 'Service unavailable', ru: 'Сервис недоступен' },
    message: {
      en: 'The service cannot process requests now. Repeat the request after the time in Retry-After. Repeat an import with the same Idempotency-Key: nothing is imported twice.',
      ru: 'Сервис сейчас не может обработать запрос. Повторите его через время, указанное в Retry-After. Импорт повторяйте с тем же Idempotency-Key: ничего не будет импортировано дважды.',
    },
  },
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof errorTable
export const errorCodes: readonly ErrorCode[] = Object.keys(errorTable).filter(
  (code): code is ErrorCode => code in errorTable,
)

/** The codes of the entries in `details` of a `validation_failed` error. */
export const faultTable = {
  required: { en: 'This member is required.', ru: 'Это поле обязательно.' },
  wrong_type: { en: 'This value has the wrong type.', ru: 'Неверный тип значения.' },
  unknown_field: { en: 'This member or parameter is unknown.', ru: 'Такое поле не предусмотрено.' },
  too_long: { en: 'This text is too long.', ru: 'Слишком длинный текст.' },
  too_short: { en: 'This text is too short.', ru: 'Слишком короткий текст.' },
  too_many: { en: 'This array or object has too many entries.', ru: 'Слишком много элементов.' },
  too_deep: { en: 'This value is nested too deeply.', ru: 'Слишком глубокая вложенность.' },
  forbidden_name: { en: 'This member name is not allowed.', ru: 'Такое имя поля не допускается.' },
  invalid_format: { en: 'This value has the wrong format.', ru: 'Неверный формат значения.' },
} as const satisfies Record<string, Record<Language, string>>

export type FaultCode = keyof typeof faultTable
export type Fault = { readonly pointer: string; readonly code: FaultCode }
