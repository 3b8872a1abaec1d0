// A module of its own, so that a bundle takes in these parts of the library only although it is loaded late.
export { importJWK, importPKCS8, SignJWT } from 'jose';
