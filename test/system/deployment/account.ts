/** The made-up account into which stacks are deployed here. The stand-in of SQS knows only this id. */
export const account = { id: '000000000000', region: 'eu-west-1', partition: 'aws' } as const;

/** Returns the ARN of a resource of this account, in its region. */
export function arnOf(service: string, resource: string): string {
  return `arn:${account.partition}:${service}:${account.region}:${account.id}:${resource}`;
}
