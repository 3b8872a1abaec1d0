// Separate module, so that a bundle holds only these parts of the library although it is loaded late.
export { createLocalJWKSet, decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose';
