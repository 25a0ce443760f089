// Program view: the program graph (DP*Graph in the literature), its phases (T-Graph*), and the roles of ranks.

import type { About, RecordingSummary } from '../../answers/about';
import type { FoldedDrawing, ProgramGraph } from '../../answers/program';
import { ChoiceButtons } from '../../charts/choice-buttons';
import { Figure } from '../../charts/figure';
import { QueryStatus } from '../../charts/query-status';
import { svgElement } from '../../charts/svg';
import { locationName } from '../../links/source-location';
import { selection, setViewParam } from '../../state/address';
import { currentRecording } from '../../state/current-recording';
import { useQuery } from '../../state/use-query';
import type { PageView } from '../view';
import { foldingQuery } from './folding';
import { GraphDrawing } from './graph-drawing';
import { Phases } from './phases';
import './program.css';
import { Roles } from './roles';
import { sanitizeSvg } from './sanitize-svg';

export const program: PageView = {
    name: 'program',
    title: 'Program',
    key: 'p',
    description: 'Structure of the program: operations, loops, roles and phases.',
    isAvailable: (about) => about.subjects.includes('program'),
    Component: Show,
    shortcuts: [
        ['← → ↑ ↓, drag', 'in the drawing: move'],
        ['+ −, wheel', 'zoom'],
        ['0', 'fit the width'],
        ['click, Enter', 'unfold a function or loop; at its name: fold it'],
    ],
};

function Show({ about }: { about: About }) {
    const shown = currentRecording(about);
    return shown ? <ProgramQuery number={shown.index} recording={shown.recording} /> : <p>There is no recording.</p>;
}

const LEVELS = ['graph', 'phases'] as const;

function ProgramQuery({ number, recording }: { number: number; recording: RecordingSummary }) {
    const query = useQuery<ProgramGraph>(number, 'program');
    return <QueryStatus query={query}>{(program) => <ProgramSections number={number} recording={recording} program={program} />}</QueryStatus>;
}

function ProgramSections({ number, recording, program }: { number: number; recording: RecordingSummary; program: ProgramGraph }) {
    const level = selection.value.viewParams.show === 'phases' ? 'phases' : 'graph';
    const drawing = useQuery<FoldedDrawing>(number, 'drawing', level === 'phases' ? { overview: 1 } : foldingQuery());
    const text = drawing.state === 'answered' ? drawing.answer.svg : undefined;
    const chooseLevel = (next: string) => {
        // The transform only applies to the current drawing.
        setViewParam('place', '');
        setViewParam('show', next === 'graph' ? '' : next);
    };
    return (
        <div class="program">
            <Figure
                title={level === 'graph' ? 'Program graph' : 'Phases of the program'}
                table={() => nodesTable(program)}
                svg={text === undefined ? null : () => sanitizeSvg(text) ?? svgElement('svg')}
                controls={<ChoiceButtons label="Show" values={LEVELS} value={level} choose={chooseLevel} />}
            >
                <QueryStatus query={drawing}>{(answer) => <GraphDrawing key={level} drawing={answer} recording={recording} />}</QueryStatus>
            </Figure>
            <div>
                <Roles program={program} size={recording.ranks} />
                <Phases program={program} />
            </div>
        </div>
    );
}

function nodesTable({ nodes, roles }: ProgramGraph) {
    return {
        columns: ['role', 'operation', 'called at', 'function', 'count', 'seconds'],
        rows: roles.flatMap((role) =>
            role.nodes.map(({ node, count, total_s }) => {
                const at = nodes[node];
                return [role.name, at?.operation, at && locationName(at), at?.function, count, total_s];
            }),
        ),
    };
}
