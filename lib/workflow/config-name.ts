/** Names that a configuration gives to workflows, schedules, servers and hooks. */
export const configName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
