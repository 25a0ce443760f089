// A link from a source location to its call site.

import type { RecordingSummary, SourceLocation } from '../answers/about';
import { locationDetails, locationName, siteIndexAt } from './source-location';
import { ViewLink } from './view-link';

interface Props {
    recording: RecordingSummary;
    location: SourceLocation;
    /** The MPI function called there, if known. */
    operation?: string;
}

export function LocationLink({ recording, location, operation }: Props) {
    const site = siteIndexAt(recording, location);
    const name = locationName(location);
    if (site === undefined) return <span title={locationDetails(location)}>{name}</span>;
    return (
        <ViewLink view="sites" change={{ site, operation }} title={locationDetails(location)}>
            {name}
        </ViewLink>
    );
}
