import type { EncodeChunk } from '#shared/domain/events/codec.ts'
import type { ScannedContact } from './fast/scan-contacts.ts'
import { rewritten } from './fast/scan-json.ts'

/** What stands in a contact beside its tags and fields, and the comma before it. */
const mostAround = ',{"phone":"+123456789012345","tags":[],"additional_fields":{}}'.length

/** Writes scanned contacts, their phones in E.164 now, with the tags and fields of the body they were found in. */
export const encodeScanned =
  (body: Buffer): EncodeChunk<ScannedContact> =>
  (head, contacts) => {
    const most = contacts.reduce((sum, contact) => sum + mostAround + lengthOf(contact), head.length + '[]}'.length)
    const target = Buffer.allocUnsafeSlow(most)
    let at = 0
    const put = (ascii: string): void => {
      at += target.write(ascii, at, 'latin1')
    }
    const putMember = (start: number, end: number, freely: boolean): void => {
      at += freely ? target.write(rewritten(body.toString('utf8', start, end)), at) : body.copy(target, at, start, end)
    }
    put(head)
    for (const [index, { phone, tagsStart, tagsEnd, fieldsStart, fieldsEnd, freely }] of contacts.entries()) {
      put(`${index === 0 ? '[' : ','}{"phone":"${phone}","tags":`)
      if (tagsEnd === 0) put('[]')
      else putMember(tagsStart, tagsEnd, freely)
      put(',"additional_fields":')
      if (fieldsEnd === 0) put('{}')
      else putMember(fieldsStart, fieldsEnd, freely)
      put('}')
    }
    put(']}')
    return target.subarray(0, at)
  }

const lengthOf = ({ tagsStart, tagsEnd, fieldsStart, fieldsEnd }: ScannedContact): number =>
  tagsEnd - tagsStart + fieldsEnd - fieldsStart
