import { type Right, roles } from './roles.ts'

const resourceOption = ({ resource, name, pattern }: Right): string => {
  if (resource === 'cluster') return '--cluster'
  return `--${resource} ${name}${pattern === 'prefixed' ? ' --resource-pattern-type prefixed' : ''}`
}

export const aclCommands = (prefix: string): readonly string[] =>
  roles.flatMap(({ user, rights }) =>
    rights(prefix).map((right) =>
      [
        'kafka-acls.sh --bootstrap-server "$KAFKA_BROKERS" --command-config admin.properties --add',
        `--allow-principal User:${user}`,
        ...right.operations.map((operation) => `--operation ${operation}`),
        resourceOption(right),
      ].join(' '),
    ),
  )
