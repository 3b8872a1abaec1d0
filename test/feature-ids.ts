/** Ids of features that a test must cite in its name: what the first release must have, and the rules of starts, signals, promises and limits. */
export const featureIds: readonly string[] = [
  ...['EN-1', 'EN-2', 'EN-3', 'EN-4', 'EN-5', 'EN-6', 'EN-7', 'EN-8', 'EN-9', 'EN-10', 'EN-11', 'EN-12', 'EN-13'],
  ...['EN-14', 'EN-34'],
  ...['S0-160', 'S0-161', 'S0-162', 'S0-163', 'S0-164'],
  ...['S0-170', 'S0-171', 'S0-172', 'S0-173', 'S0-174', 'S0-175', 'S0-176', 'S0-177'],
  ...['S0-180', 'S0-181', 'S0-182', 'S0-183', 'S0-184', 'S0-185', 'S0-186', 'S0-187', 'S0-188', 'S0-189'],
  'S2-11',
];

/** Those of them that are not there, or not in that form, and why. */
export const notDone: Readonly<Record<string, string>> = {
  'S0-188': 'a reply to a start has the limit of every remote reply, 4 MiB (S0-42)',
};
