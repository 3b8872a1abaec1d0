import type { SeenCall } from './aws-endpoint.js';

interface Update {
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly UpdateExpression?: string;
}

/** Matches a call in which a replica of this function writes this attribute of an item. */
export function writes(functionName: string, attribute: string): (call: SeenCall) => boolean {
  return ({ session, operation, input }) => {
    if (!isOf(functionName, session) || operation !== 'UpdateItem') return false;
    const { ExpressionAttributeNames: names = {}, UpdateExpression: expression = '' } = input as Update;
    const alias = Object.keys(names).find((name) => names[name] === attribute);
    // Conditions name attributes too.
    return alias !== undefined && `${expression} `.includes(`${alias} `);
  };
}

/** Matches a call in which a replica of this function sends messages. */
export function sends(functionName: string): (call: SeenCall) => boolean {
  return ({ session, service, operation }) =>
    isOf(functionName, session) && service === 'sqs' && operation.startsWith('SendMessage');
}

function isOf(functionName: string, session: string): boolean {
  return session.startsWith(`${functionName}-`);
}
