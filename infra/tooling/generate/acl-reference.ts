import { aclCommands } from '#infra/kafka-acls/commands.ts'
import { type Right, roles } from '#infra/kafka-acls/roles.ts'
import { table } from './markdown.ts'

/** What each service has to be allowed in Kafka, as a table and as commands. */
export const aclReference = (): string =>
  [
    '# Kafka’s ACLs',
    'Each service proves who it is with `KAFKA_SASL_*` or a certificate ([variables](config.md)), and needs exactly this. ' +
      'Nobody but the service and its administrators has to see contacts; any team may be allowed what `subscriber` is, ' +
      'under a name of its own. With a `KAFKA_PREFIX`, it stands before every name but the subscribers’ groups.',
    ...roles.flatMap(({ user, description, rights }) => [`## ${user}`, description, ...tableOf(rights(''))]),
    '## As commands',
    'For the tool that comes with Kafka; `admin.properties` says how an administrator of the cluster logs in.',
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
