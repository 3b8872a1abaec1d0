/**
 * Loads once, at the first call: Lambda then does not load modules at start that few invocations need. A failed load is
 * retried at the next call.
 */
export function lazy<Loaded>(load: () => Promise<Loaded>): () => Promise<Loaded> {
  let loading: Promise<Loaded> | undefined;
  const loadOnce = async (): Promise<Loaded> => {
    try {
      return await load();
    } catch (error) {
      loading = undefined;
      throw error;
    }
  };
  return () => (loading ??= loadOnce());
}
