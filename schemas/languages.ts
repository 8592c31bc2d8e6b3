/** The languages in which the service speaks to people. */
export const languages = ['en', 'ru'] as const
export type Language = (typeof languages)[number]
