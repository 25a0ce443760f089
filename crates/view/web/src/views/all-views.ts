// All views, in navigation order.

import { comparison } from './comparison';
import { functions } from './functions';
import { machine } from './machine';
import { matrix } from './matrix';
import { overview } from './overview';
import { placement } from './placement';
import { program } from './program';
import { replay } from './replay';
import { scaling } from './scaling';
import { sites } from './sites';
import { timeline } from './timeline';
import { tuning } from './tuning';
import type { PageView } from './view';

export const allViews: PageView[] = [overview, timeline, matrix, program, functions, sites, replay, scaling, placement, tuning, comparison, machine];
