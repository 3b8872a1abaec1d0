import type { Plugin } from 'esbuild';
import { setApart } from './apart.js';

const sdk = /[\\/]node_modules[\\/]@(aws-sdk|smithy)[\\/]/;
const chain = /[\\/]node_modules[\\/]@aws-sdk[\\/]credential-provider-node[\\/]/;

/**
 * Keeps the sources of credentials that Lambda does not use (profiles, sign-on, roles that are assumed) apart, with a core
 * of the SDK of their own. Else what they share with the clients, XML among it, would be loaded with each function: of a
 * module that only lists others, esbuild keeps together all that any part of the bundle uses.
 */
export function otherCredentials(): Plugin {
  return {
    name: 'other-credentials',
    setup(builder) {
      const findApart = setApart(builder, { namespace: 'other-credentials', copied: sdk });
      builder.onResolve({ filter: /^@(aws-sdk|smithy)\/credential-provider-/ }, (request) =>
        request.kind === 'dynamic-import' && chain.test(request.importer) ? findApart(request) : undefined,
      );
    },
  };
}
