/** The user's configuration, a name that the bundler resolves to the file; see bundle.ts. */
declare module 'outwait:app' {
  // eslint-disable-next-line @typescript-eslint/consistent-type-imports -- an ambient module cannot import by a relative name
  const app: import('../workflow/app.js').App;
  export default app;
}
