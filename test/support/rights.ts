/**
 * Rights of each function in AWS, as action and resource: the template grants these and nothing else
 * (test/package/cdk), and runs of many kinds need no others and use all of them (test/system/deployment). In the order
 * of the template.
 */
export const rights = {
  Api: [
    ...items(),
    'dynamodb:Query Table/index/list',
    'dynamodb:Query Table/index/tenant',
    'sqs:SendMessage TurnQueue',
    'sqs:SendMessage WorkQueue',
    'secretsmanager:GetSecretValue TokenKeys',
    'secretsmanager:GetSecretValue ManagementToken',
  ],
  Turn: [
    ...items(),
    'sqs:SendMessage TurnQueue',
    'sqs:SendMessage WorkQueue',
    'sqs:SendMessage StepQueue',
    'sqs:SendMessage StartQueue',
    'secretsmanager:GetSecretValue TokenKeys',
  ],
  Poll: [
    ...items(),
    'sqs:SendMessage TurnQueue',
    'sqs:SendMessage WorkQueue',
    'sqs:SendMessage StartQueue',
    'sqs:SendMessage SlowQueue',
    'secretsmanager:GetSecretValue TokenKeys',
  ],
  Step: [
    ...items(),
    'sqs:SendMessage TurnQueue',
    'sqs:SendMessage WorkQueue',
    'sqs:SendMessage StepQueue',
    'secretsmanager:GetSecretValue TokenKeys',
  ],
  Schedule: [
    ...items(),
    'dynamodb:Query Table/index/due',
    'sqs:SendMessage TurnQueue',
    'sqs:SendMessage WorkQueue',
    'sqs:SendMessage StepQueue',
    'secretsmanager:GetSecretValue TokenKeys',
  ],
} as const;

function items() {
  return [
    'dynamodb:GetItem Table',
    'dynamodb:PutItem Table',
    'dynamodb:UpdateItem Table',
    'dynamodb:Query Table',
  ] as const;
}
