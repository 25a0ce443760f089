import type { About, RecordingSummary } from '../answers/about';
import { selection } from './address';

/** The current recording: its index for queries, and its summary. */
export interface CurrentRecording {
    index: number;
    recording: RecordingSummary;
}

/** The selected recording, or the first one; `undefined` if there is none. */
export function currentRecording(about: About): CurrentRecording | undefined {
    const wanted = selection.value.recording;
    const number = wanted < about.recordings.length ? wanted : 0;
    const recording = about.recordings[number];
    return recording && { index: number, recording };
}
