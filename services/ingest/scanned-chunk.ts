import type { EncodeChunk } from '#shared/domain/events/codec.ts'
import type { ScannedContact } from './scan-contacts.ts'
import { copyRewritten } from './scan-json.ts'

const fieldsName = Buffer.from(',"additional_fields":')
const noTags = Buffer.from('[]')
const noFields = Buffer.from('{}')
/** What stands in a contact beside its tags and fields, and the comma before it. */
const mostAround = ',{"phone":"+123456789012345","tags":[],"additional_fields":{}}'.length

/** Writes scanned contacts, their phones in E.164 now, with the tags and fields of the body they were found in. */
export const encodeScanned =
  (body: Buffer): EncodeChunk<ScannedContact> =>
  (head, contacts) => {
    const most = contacts.reduce((sum, contact) => sum + mostAround + lengthOf(contact), head.length + '[]}'.length)
    const target = Buffer.allocUnsafeSlow(most)
    let at = target.write(`${head}[`, 'latin1')
    for (const [index, contact] of contacts.entries()) {
      const { phone, tagsStart, tagsEnd, fieldsStart, fieldsEnd, freely } = contact
      const copy = freely ? copyRewritten : copyAll
      at += target.write(`${index === 0 ? '' : ','}{"phone":"${phone}","tags":`, at, 'latin1')
      at = tagsEnd === 0 ? at + noTags.copy(target, at) : copy(body, tagsStart, tagsEnd, target, at)
      at += fieldsName.copy(target, at)
      at = fieldsEnd === 0 ? at + noFields.copy(target, at) : copy(body, fieldsStart, fieldsEnd, target, at)
      at += target.write('}', at, 'latin1')
    }
    at += target.write(']}', at, 'latin1')
    return target.subarray(0, at)
  }

const copyAll: typeof copyRewritten = (text, start, end, target, to) => to + text.copy(target, to, start, end)

const lengthOf = ({ tagsStart, tagsEnd, fieldsStart, fieldsEnd }: ScannedContact): number =>
  tagsEnd - tagsStart + fieldsEnd - fieldsStart
