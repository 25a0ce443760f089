// What every part of the overview is made from.

import type { Recorded } from '../../answers/about';
import type { Report } from '../../answers/report';

export interface Part {
    report: Report;
    recorded: Recorded;
    /** The number of the recording, for questions. */
    number: number;
}
