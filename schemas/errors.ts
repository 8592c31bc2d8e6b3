export { type Fault, type FaultCode, faultTable } from './faults.ts'
export { type Language, languages } from './languages.ts'

/**
 * Every error the service answers: its status and its words in each language.
 * `code` never changes; the words may. Only the HTTP adapter reads `status`.
 */
type Words = { readonly title: string; readonly message: string }
type ErrorEntry = { readonly status: number; readonly en: Words; readonly ru: Words }

export const errorTable = {
  invalid_json: {
    status: 400,
    en: {
      title: 'Invalid JSON',
      message: 'The body is not valid JSON in UTF-8. Nothing was accepted; correct the body and send it again.',
    },
    ru: {
      title: 'Некорректный JSON',
      message: 'Тело запроса не является корректным JSON в UTF-8. Ничего не принято; исправьте тело и отправьте снова.',
    },
  },
  invalid_encoding: {
    status: 400,
    en: {
      title: 'Invalid content encoding',
      message:
        'The body could not be decoded with its Content-Encoding. Nothing was accepted; compress it again or send it uncompressed.',
    },
    ru: {
      title: 'Некорректное сжатие',
      message:
        'Тело не удалось распаковать согласно Content-Encoding. Ничего не принято; сожмите его заново или отправьте без сжатия.',
    },
  },
  bad_request: {
    status: 400,
    en: {
      title: 'Bad request',
      message: 'The request is not well-formed HTTP. Nothing was accepted; check the client that sent it.',
    },
    ru: {
      title: 'Некорректный запрос',
      message: 'Запрос нарушает протокол HTTP. Ничего не принято; проверьте отправляющий клиент.',
    },
  },
  validation_failed: {
    status: 400,
    en: {
      title: 'Validation failed',
      message:
        'The request has the wrong shape; `details` lists where. Nothing was accepted; correct it and send it again.',
    },
    ru: {
      title: 'Ошибка проверки',
      message:
        'Запрос имеет неверную форму; места перечислены в `details`. Ничего не принято; исправьте и отправьте снова.',
    },
  },
  empty_import: {
    status: 400,
    en: { title: 'Empty import', message: 'The array holds no contacts. Send at least one.' },
    ru: { title: 'Пустой импорт', message: 'Массив не содержит контактов. Отправьте хотя бы один.' },
  },
  idempotency_key_missing: {
    status: 400,
    en: {
      title: 'Idempotency key missing',
      message:
        'The Idempotency-Key header is required. Send a new UUID for each import and the same one when you repeat it.',
    },
    ru: {
      title: 'Нет ключа идемпотентности',
      message:
        'Заголовок Idempotency-Key обязателен. Для каждого импорта отправляйте новый UUID, при повторе тот же самый.',
    },
  },
  idempotency_key_invalid: {
    status: 400,
    en: { title: 'Idempotency key invalid', message: 'The Idempotency-Key must be 1 to 255 visible ASCII characters.' },
    ru: {
      title: 'Некорректный ключ идемпотентности',
      message: 'Idempotency-Key должен состоять из 1–255 видимых символов ASCII.',
    },
  },
  header_invalid: {
    status: 400,
    en: {
      title: 'Header invalid',
      message: 'X-Correlation-ID must be a UUID, and X-Debug must be true or false. Nothing was accepted.',
    },
    ru: {
      title: 'Некорректный заголовок',
      message: 'X-Correlation-ID должен быть UUID, а X-Debug — true или false. Ничего не принято.',
    },
  },
  unauthorized: {
    status: 401,
    en: { title: 'Unauthorized', message: 'A valid API key is required: Authorization: Bearer <API key>.' },
    ru: { title: 'Требуется авторизация', message: 'Нужен действующий ключ API: Authorization: Bearer <ключ API>.' },
  },
  signature_missing: {
    status: 401,
    en: {
      title: 'Signature missing',
      message: 'Requests of this client are signed: send both X-Signature and X-Timestamp.',
    },
    ru: { title: 'Нет подписи', message: 'Запросы этого клиента подписываются: отправьте X-Signature и X-Timestamp.' },
  },
  signature_invalid: {
    status: 401,
    en: {
      title: 'Signature invalid',
      message:
        'X-Signature does not match the timestamp and the body bytes as sent. Sign them with the current secret and send again.',
    },
    ru: {
      title: 'Неверная подпись',
      message:
        'X-Signature не соответствует метке времени и отправленным байтам тела. Подпишите их действующим секретом и отправьте снова.',
    },
  },
  timestamp_out_of_range: {
    status: 401,
    en: {
      title: 'Timestamp out of range',
      message: 'X-Timestamp is not an RFC 3339 timestamp near the present time. Check the clock, sign again and send.',
    },
    ru: {
      title: 'Метка времени вне диапазона',
      message:
        'X-Timestamp не является меткой RFC 3339, близкой к текущему времени. Проверьте часы, подпишите и отправьте снова.',
    },
  },
  ip_not_allowed: {
    status: 403,
    en: {
      title: 'Address not allowed',
      message: 'This API client may not be used from this address. Ask an administrator to extend its allowlist.',
    },
    ru: {
      title: 'Адрес не разрешён',
      message:
        'Этот клиент API нельзя использовать с данного адреса. Попросите администратора расширить список разрешённых.',
    },
  },
  permission_denied: {
    status: 403,
    en: { title: 'Permission denied', message: 'This API client lacks the permission for this operation.' },
    ru: { title: 'Недостаточно прав', message: 'У этого клиента API нет права на эту операцию.' },
  },
  job_not_found: {
    status: 404,
    en: { title: 'Job not found', message: 'No import job with this id exists for this client.' },
    ru: { title: 'Задание не найдено', message: 'Задания импорта с таким идентификатором у этого клиента нет.' },
  },
  idempotency_key_not_found: {
    status: 404,
    en: {
      title: 'Idempotency key not found',
      message: 'No unexpired record of this idempotency key exists for this client.',
    },
    ru: {
      title: 'Ключ идемпотентности не найден',
      message: 'Действующей записи с таким ключом идемпотентности у этого клиента нет.',
    },
  },
  route_not_found: {
    status: 404,
    en: { title: 'Route not found', message: 'There is no such path. The reference is at /docs.' },
    ru: { title: 'Путь не найден', message: 'Такого пути нет. Справочник доступен по адресу /docs.' },
  },
  method_not_allowed: {
    status: 405,
    en: {
      title: 'Method not allowed',
      message: 'This path does not take this method; the Allow header lists those it takes.',
    },
    ru: {
      title: 'Метод не поддерживается',
      message: 'Этот путь не поддерживает данный метод; поддерживаемые перечислены в заголовке Allow.',
    },
  },
  request_timeout: {
    status: 408,
    en: {
      title: 'Request timeout',
      message: 'The request did not arrive in time. Nothing was accepted; send it again.',
    },
    ru: {
      title: 'Время ожидания истекло',
      message: 'Запрос не был получен вовремя. Ничего не принято; отправьте его снова.',
    },
  },
  request_in_progress: {
    status: 409,
    en: {
      title: 'Request in progress',
      message:
        'The first request with this key is still being processed. Repeat this one, unchanged, after Retry-After.',
    },
    ru: {
      title: 'Запрос обрабатывается',
      message: 'Первый запрос с этим ключом ещё обрабатывается. Повторите этот без изменений после Retry-After.',
    },
  },
  payload_too_large: {
    status: 413,
    en: {
      title: 'Payload too large',
      message: 'The body exceeds the size limit. Nothing was accepted; split the import into smaller ones.',
    },
    ru: {
      title: 'Слишком большое тело',
      message: 'Тело превышает допустимый размер. Ничего не принято; разделите импорт на несколько.',
    },
  },
  uri_too_long: {
    status: 414,
    en: { title: 'URI too long', message: 'The request path is too long.' },
    ru: { title: 'Слишком длинный URI', message: 'Путь запроса слишком длинный.' },
  },
  unsupported_media_type: {
    status: 415,
    en: {
      title: 'Unsupported media type',
      message: 'Send Content-Type: application/json in UTF-8, uncompressed or with Content-Encoding: gzip.',
    },
    ru: {
      title: 'Неподдерживаемый тип содержимого',
      message: 'Отправляйте Content-Type: application/json в UTF-8, без сжатия или с Content-Encoding: gzip.',
    },
  },
  idempotency_conflict: {
    status: 422,
    en: {
      title: 'Idempotency conflict',
      message:
        'This idempotency key was used with a different payload. Nothing was accepted; use a new key for a new import.',
    },
    ru: {
      title: 'Конфликт идемпотентности',
      message:
        'Этот ключ идемпотентности уже использован с другим содержимым. Ничего не принято; для нового импорта возьмите новый ключ.',
    },
  },
  rate_limit_exceeded: {
    status: 429,
    en: {
      title: 'Rate limit exceeded',
      message:
        'This client sends too many requests. Nothing was accepted; repeat after Retry-After with exponential backoff.',
    },
    ru: {
      title: 'Превышен лимит запросов',
      message:
        'Этот клиент отправляет слишком много запросов. Ничего не принято; повторите после Retry-After с экспоненциальной задержкой.',
    },
  },
  headers_too_large: {
    status: 431,
    en: { title: 'Headers too large', message: 'The request headers exceed the size limit.' },
    ru: { title: 'Слишком большие заголовки', message: 'Заголовки запроса превышают допустимый размер.' },
  },
  internal_error: {
    status: 500,
    en: {
      title: 'Internal error',
      message:
        'The service failed unexpectedly. Repeat the request with the same Idempotency-Key; if it persists, report the correlation_id.',
    },
    ru: {
      title: 'Внутренняя ошибка',
      message:
        'Непредвиденный сбой сервиса. Повторите запрос с тем же Idempotency-Key; если не поможет, сообщите correlation_id.',
    },
  },
  service_unavailable: {
    status: 503,
    en: {
      title: 'Service unavailable',
      message:
        'The service cannot process this right now. Repeat it, with the same Idempotency-Key if it is an import, after Retry-After.',
    },
    ru: {
      title: 'Сервис недоступен',
      message:
        'Сервис сейчас не может обработать запрос. Повторите его после Retry-After, импорт — с тем же Idempotency-Key.',
    },
  },
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof errorTable
export const errorCodes: readonly ErrorCode[] = Object.keys(errorTable).filter(
  (code): code is ErrorCode => code in errorTable,
)
