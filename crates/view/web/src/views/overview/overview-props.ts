// Props of every section of the overview.

import type { RecordingSummary } from '../../answers/about';
import type { Report } from '../../answers/report';

export interface OverviewProps {
    report: Report;
    recording: RecordingSummary;
    /** Index of the recording, for queries. */
    recordingIndex: number;
}
