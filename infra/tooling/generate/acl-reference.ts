import { aclCommands } from '#infra/kafka-acls/commands.ts'
import { type Right, roles } from '#infra/kafka-acls/roles.ts'
import { table } from './markdown.ts'

/** The Kafka rights of each service, as a table and as commands. */
export const aclReference = (): string =>
  [
    '# Kafka ACLs',
    'Each service authenticates with `KAFKA_SASL_*` or a certificate ([variables](config.md)) and needs exactly these ' +
      'rights. Only the service and its administrators need to see contacts. Any team may get the rights of ' +
      '`subscriber` under its own name. `KAFKA_PREFIX` precedes every name except the groups of subscribers.',
    ...roles.flatMap(({ user, description, rights }) => [`## ${user}`, description, ...tableOf(rights(''))]),
    '## As commands',
    'For the tool that comes with Kafka. `admin.properties` contains the login of a cluster administrator.',
    `\`\`\`sh\n${aclCommands('').join('\n')}\n\`\`\``,
  ].join('\n\n')

const tableOf = (rights: readonly Right[]): readonly string[] =>
  rights.length === 0
    ? []
    : [
        table(
          ['resource', 'name', 'operations'],
          rights.map(({ resource, name, pattern, operations }) => [
            resource,
            `\`${name}${pattern === 'prefixed' ? '*' : ''}\``,
            operations.join(', '),
          ]),
        ),
      ]
