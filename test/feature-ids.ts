/**
 * Ids of features that a test must cite in its name: the requirements of the first release, and the rules of starts,
 * signals, promises and limits.
 */
export const featureIds: readonly string[] = [
  ...['EN-1', 'EN-2', 'EN-3', 'EN-4', 'EN-5', 'EN-6', 'EN-7', 'EN-8', 'EN-9', 'EN-10', 'EN-11', 'EN-12', 'EN-13'],
  ...['EN-14', 'EN-34'],
  ...['S0-160', 'S0-161', 'S0-162', 'S0-163', 'S0-164'],
  ...['S0-170', 'S0-171', 'S0-172', 'S0-173', 'S0-174', 'S0-175', 'S0-176', 'S0-177'],
  ...['S0-180', 'S0-181', 'S0-182', 'S0-183', 'S0-184', 'S0-185', 'S0-186', 'S0-187', 'S0-188', 'S0-189'],
  ...['S2-11', 'S3-12', 'S3-13', 'S3-14', 'S3-15', 'S3-16', 'S3-17', 'S3-18'],
];

/**
 * Cases of a caller over MCP (wire and envelope, tasks, era and older revisions, credentials), each cited as
 * `MCP-<number>`.
 */
export const mcpCaseIds: readonly string[] = [
  ...['MCP-01', 'MCP-02', 'MCP-03', 'MCP-04', 'MCP-05', 'MCP-06', 'MCP-07', 'MCP-08', 'MCP-09', 'MCP-10', 'MCP-11'],
  ...['MCP-20', 'MCP-21', 'MCP-22', 'MCP-23', 'MCP-24', 'MCP-25', 'MCP-26', 'MCP-27', 'MCP-28', 'MCP-29', 'MCP-30'],
  ...['MCP-31', 'MCP-32', 'MCP-33', 'MCP-34', 'MCP-35', 'MCP-36', 'MCP-37', 'MCP-38', 'MCP-39', 'MCP-40', 'MCP-41'],
  ...['MCP-42', 'MCP-43', 'MCP-44', 'MCP-45', 'MCP-46', 'MCP-47', 'MCP-48', 'MCP-49', 'MCP-50', 'MCP-51', 'MCP-52'],
  ...['MCP-52b', 'MCP-53', 'MCP-54', 'MCP-55', 'MCP-56', 'MCP-57', 'MCP-58', 'MCP-59', 'MCP-60', 'MCP-61'],
  ...['MCP-76', 'MCP-77', 'MCP-78', 'MCP-79'],
];

/** Cases of a caller over A2A, each cited as `A2A-C<number>`. */
export const a2aCaseIds: readonly string[] = [
  ...['A2A-C1', 'A2A-C2', 'A2A-C3', 'A2A-C4', 'A2A-C5', 'A2A-C6', 'A2A-C7', 'A2A-C8', 'A2A-C9', 'A2A-C10', 'A2A-C11'],
  ...['A2A-C12', 'A2A-C13', 'A2A-C14', 'A2A-C15', 'A2A-C16', 'A2A-C17', 'A2A-C18', 'A2A-C19', 'A2A-C20', 'A2A-C21'],
  ...['A2A-C22', 'A2A-C23', 'A2A-C24', 'A2A-C25', 'A2A-C26', 'A2A-C27', 'A2A-C28', 'A2A-C29', 'A2A-C30', 'A2A-C31'],
  ...['A2A-C32', 'A2A-C33', 'A2A-C34', 'A2A-C35', 'A2A-C36', 'A2A-C37', 'A2A-C38', 'A2A-C39', 'A2A-C40', 'A2A-C41'],
  ...['A2A-C42', 'A2A-C43', 'A2A-C44', 'A2A-C45', 'A2A-C46', 'A2A-C47', 'A2A-C48', 'A2A-C49', 'A2A-C50', 'A2A-C51'],
  ...['A2A-C52', 'A2A-C53', 'A2A-C54', 'A2A-C55', 'A2A-C56', 'A2A-C57'],
];

/** Cases of a server over A2A, each cited as `A2A-S<number>`. */
export const a2aServerCaseIds: readonly string[] = Array.from({ length: 33 }, (_, at) => `A2A-S${at + 1}`);

/** Cases of a server over MCP, each cited as `MCP-S<number>`; those before 62 are of the wire, of callers and servers. */
export const mcpServerCaseIds: readonly string[] = [
  ...['MCP-S11', 'MCP-S12', 'MCP-S13', 'MCP-S14', 'MCP-S15', 'MCP-S16', 'MCP-S17', 'MCP-S18', 'MCP-S19'],
  ...Array.from({ length: 14 }, (_, at) => `MCP-S${at + 62}`),
];

const pushIsLater = 'nobody pushes to us yet';

/** Cases that do not exist here, or not in that form, each with the reason. */
export const notDone: Readonly<Record<string, string>> = {
  'MCP-26': 'every call of 2026-07-28 declares the tasks extension, so no task comes without it',
  'A2A-C19': pushIsLater,
  'A2A-C20': pushIsLater,
  'A2A-C21': pushIsLater,
  'A2A-C22': pushIsLater,
  'A2A-C23': pushIsLater,
  'A2A-C24': pushIsLater,
  'A2A-C25': pushIsLater,
  'A2A-C26': pushIsLater,
  'MCP-S71': 'no task expires yet: its ttlMs is null, and it is kept',
  'S3-14': 'no result arrives without its task: the run that returns is the task',
  'S0-188': 'a reply to a start has the limit of every remote reply, 4 MiB (S0-42)',
};
