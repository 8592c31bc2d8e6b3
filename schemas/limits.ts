/** Limits of the interface that are not configurable. Lengths are Unicode code points. */
export const limits = {
  phoneLength: 64,
  tags: 50,
  tagLength: 100,
  fields: 100,
  fieldNameLength: 100,
  /** Levels of nesting inside `additionalFields`; the map itself is level 1. */
  fieldsDepth: 8,
  idempotencyKeyLength: 255,
  faultsListed: 100,
} as const
