// Separate module, so that a bundle holds only these parts of the library although it is loaded late.
export { importJWK, importPKCS8, SignJWT } from 'jose';
