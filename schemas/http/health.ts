import { type Static, Type } from '@sinclair/typebox'
import { Timestamp } from '../primitives.ts'

export const LivenessResponse = Type.Object({ status: Type.Literal('ok') }, { $id: 'LivenessResponse' })

const Health = Type.Union([Type.Literal('healthy'), Type.Literal('unhealthy')])
export const HealthCheck = Type.Object({ status: Health, message: Type.String() }, { $id: 'HealthCheck' })
export type HealthCheck = Static<typeof HealthCheck>

export const ReadinessResponse = Type.Object(
  {
    status: Health,
    version: Type.String(),
    timestamp: Timestamp,
    checks: Type.Object({
      database: HealthCheck,
      event_log: HealthCheck,
      /** Only of a process that runs the dispatcher. Does not change `status`. */
      ai_system: Type.Optional(HealthCheck),
    }),
  },
  { $id: 'ReadinessResponse' },
)
export type ReadinessResponse = Static<typeof ReadinessResponse>
