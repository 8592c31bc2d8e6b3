/** Fixed limits of the HTTP interface. Lengths are Unicode code points. */
export const limits = {
  phoneLength: 64,
  tags: 50,
  tagLength: 100,
  fields: 100,
  fieldNameLength: 100,
  fieldsDepth: 8, // nesting levels; the map itself is level 1
  idempotencyKeyLength: 255,
  faultsListed: 100,
} as const
