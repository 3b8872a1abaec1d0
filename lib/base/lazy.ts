/**
 * Loads something once, when it is first asked for: modules that few invocations need are kept out of what Lambda loads at
 * its start. A load that fails is tried again the next time.
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
