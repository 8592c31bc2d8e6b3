const form =
  /^(\d{4})-(0[1-9]|1[0-2])-(\d\d)[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(\.\d+)?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/

/**
 * The instant (milliseconds since the epoch, with a fraction) of an RFC 3339 date-time with any offset, else null.
 * A leap second is taken where one can be, at the end of a month in UTC (§5.7), and means the instant after it.
 */
export function parseTimestamp(text: string): number | null {
  const [match, year, month, day, hour, minute, second, fraction = '', sign, offsetHour = '0', offsetMinute = '0'] =
    form.exec(text) ?? []
  if (match === undefined) return null
  const daysInMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  if (Number(day) < 1 || Number(day) > daysInMonth) return null
  const offsetMinutes = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === '-' ? -1 : 1)
  const local = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second))
  const instant = local - offsetMinutes * 60_000
  if (second === '60' && !beginsMonth(new Date(instant))) return null
  return instant + Number(`0${fraction}`) * 1_000
}

const beginsMonth = (date: Date) => date.getUTCDate() === 1 && date.getUTCHours() === 0 && date.getUTCMinutes() === 0
