/** Books or undoes at the ledger of the soak, which deduplicates repeats. */
export async function post(action: 'book' | 'undo', owner: string, what: string, signal: AbortSignal): Promise<void> {
  const response = await fetch(process.env['SOAK_LEDGER_URL'] ?? '', {
    method: 'POST',
    body: JSON.stringify({ action, owner, what }),
    signal,
  });
  if (!response.ok) throw new Error(`the ledger answered ${response.status}`);
}
