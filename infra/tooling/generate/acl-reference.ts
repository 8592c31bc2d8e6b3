import { aclCommands } from '#infra/kafka-acls/commands.ts'
import { type Right, roles } from '#infra/kafka-acls/roles.ts'
import { table } from './markdown.ts'

export const aclReference = (): string =>
  [
    '# Kafka ACLs',
    'Each service authenticates with `KAFKA_SASL_*` or a certificate ([variables](config.md)) and needs exactly these ' +
      'rights. `contact-import.imports` and `contact-import.dead-letters` contain contacts: grant other teams no rights ' +
      'on them. Grant another team the rights of `subscriber`, with its own user name and group prefix. If ' +
      '`KAFKA_PREFIX` is set, every name starts with it, except the groups of subscribers.',
    ...roles.flatMap(({ user, description, rights }) => [`## ${user}`, description, ...tableOf(rights(''))]),
    '## Commands',
    '`kafka-acls.sh` is part of Kafka. `admin.properties` contains the credentials of a cluster administrator.',
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
