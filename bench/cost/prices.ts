// Public on-demand prices of AWS in us-east-1, in dollars, without free tiers, volume tiers, savings plans and taxes.
// They are data: change them here, run `npm run cost -- --write`, and docs/cost.md follows.

/** A price list and the page that it is from. */
interface Source {
  readonly name: string;
  readonly url: string;
}

export const prices = {
  writtenDown: '2026-11-29',
  region: 'us-east-1',
  lambda: { perMillionRequests: 0.2, perGbSecondArm64: 0.0000133334 },
  dynamodb: { perMillionWriteUnits: 0.625, perMillionReadUnits: 0.125 },
  sqs: { perMillionStandard: 0.4, perMillionFifo: 0.5 },
  apiGateway: { perMillionHttpRequests: 1 },
  secretsManager: { perSecretMonth: 0.4 },
  durableFunctions: { perMillionOperations: 8 },
  stepFunctions: { perMillionTransitions: 25, perMillionExpressRequests: 1, perExpressGbSecond: 0.00001667 },
} as const;

export const sources: readonly Source[] = [
  { name: 'Lambda and its durable functions', url: 'https://aws.amazon.com/lambda/pricing/' },
  { name: 'DynamoDB on demand', url: 'https://aws.amazon.com/dynamodb/pricing/on-demand/' },
  { name: 'SQS', url: 'https://aws.amazon.com/sqs/pricing/' },
  { name: 'API Gateway (HTTP APIs)', url: 'https://aws.amazon.com/api-gateway/pricing/' },
  { name: 'Secrets Manager', url: 'https://aws.amazon.com/secrets-manager/pricing/' },
  { name: 'Step Functions', url: 'https://aws.amazon.com/step-functions/pricing/' },
];

/** What no count of this project says. Billed milliseconds of one invocation, work of steps left out. */
export const assumed = {
  turnMs: 150,
  pollMs: 300,
  apiMs: 50,
  sweepMs: 200,
  /** Reads that share an invocation when there are many; the most that a batch carries. */
  pollsPerBatch: 40,
  /** Receives of Lambda from a queue in which nothing is: so many at a time, each waiting so long. */
  idleReceivers: 5,
  idleReceiveSeconds: 20,
  hoursPerMonth: 730,
  secrets: 2,
} as const;
