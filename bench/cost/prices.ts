// Public on-demand prices of AWS in us-east-1, in dollars, without free tiers, volume tiers, savings plans or taxes. To
// update docs/cost.md, change them here and run `npm run cost -- --write`.

/** A price list and the page that it comes from. */
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

/**
 * Assumptions that this project cannot count. Billed milliseconds are those of one invocation, without the work of
 * steps.
 */
export const assumed = {
  turnMs: 150,
  pollMs: 300,
  apiMs: 50,
  sweepMs: 200,
  /** Reads that share an invocation under load: the maximum batch size. */
  pollsPerBatch: 40,
  /** Lambda's receives from an empty queue: this many in parallel, each waiting this long. */
  idleReceivers: 5,
  idleReceiveSeconds: 20,
  hoursPerMonth: 730,
  secrets: 2,
} as const;
