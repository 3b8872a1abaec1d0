import type { ZooAnimal } from './animal.js';
import { a2aAdk } from './servers/a2a-adk.js';
import { a2aAgentFramework } from './servers/a2a-agent-framework.js';
import { a2aBeeai } from './servers/a2a-beeai.js';
import { a2aFasta2a } from './servers/a2a-fasta2a.js';
import { a2aGo03 } from './servers/a2a-go-0.3.js';
import { a2aLanggraph } from './servers/a2a-langgraph.js';
import { a2aPython03 } from './servers/a2a-python-0.3.js';
import { a2aPython1 } from './servers/a2a-python-1.js';
import { a2aPython1Rest } from './servers/a2a-python-1-rest.js';
import { a2aStrands } from './servers/a2a-strands.js';
import { mcpFastmcp3 } from './servers/mcp-fastmcp-3.js';
import { mcpFastmcp4 } from './servers/mcp-fastmcp-4.js';
import { mcpPython1 } from './servers/mcp-python-1.js';
import { mcpPython2 } from './servers/mcp-python-2.js';

export const zoo: readonly ZooAnimal[] = [
  a2aPython1,
  a2aPython1Rest,
  a2aPython03,
  a2aGo03,
  a2aLanggraph,
  a2aAgentFramework,
  a2aAdk,
  a2aStrands,
  a2aBeeai,
  a2aFasta2a,
  mcpPython1,
  mcpPython2,
  mcpFastmcp3,
  mcpFastmcp4,
];
