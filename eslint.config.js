import tseslint from 'typescript-eslint';

// Folders whose code is a function of its arguments: no IO, no clock, no randomness.
const pure = [
  'lib/base/**/*.ts',
  'lib/history/**/*.ts',
  'lib/workflow/**/*.ts',
  'lib/replay/**/*.ts',
  'lib/decide/**/*.ts',
];

export default tseslint.config(
  { ignores: ['dist/', 'coverage/', 'cdk.out/', 'node_modules/', '**/*.js', '**/*.mjs', '**/*.cjs'] },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: { project: ['./tsconfig.json', './cdk/tsconfig.json'], tsconfigRootDir: import.meta.dirname },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/consistent-type-definitions': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // `({ left, ...kept }) => kept` leaves a property out.
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      // An index signature must be read with brackets under noPropertyAccessFromIndexSignature.
      '@typescript-eslint/dot-notation': 'off',
      // Interfaces of ports are asynchronous even where an implementation is not.
      '@typescript-eslint/require-await': 'off',
      'no-console': 'error',
      eqeqeq: 'error',
    },
  },
  {
    files: pure,
    rules: {
      'no-restricted-globals': [
        'error',
        ...['process', 'fetch', 'setTimeout', 'setInterval', 'setImmediate', 'performance', 'crypto', 'queueMicrotask'],
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Take the time as an argument.' },
        { object: 'Math', property: 'random', message: 'Take randomness as an argument.' },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: 'Take the time as an argument.' },
      ],
      'no-restricted-imports': [
        'error',
        { patterns: [{ group: ['node:*', '@aws-sdk/*', 'undici', 'pino', 'hono'], message: 'Pure code does no IO.' }] },
      ],
    },
  },
  {
    // Tools that talk to a person at a terminal.
    files: ['lib/cli.ts', 'lib/cli/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts', 'test/tools/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['test/**/*.ts', 'examples/**/*.test.ts'],
    rules: { '@typescript-eslint/no-non-null-assertion': 'off' },
  },
);
