// The program as it ran: its graph (the DP*Graph of the literature), its phases (the T-Graph*), and the roles of ranks.

import type { About, Recorded } from '../../answers/about';
import type { Program } from '../../answers/program';
import { Choice } from '../../charts/choice';
import { Figure } from '../../charts/figure';
import { State } from '../../charts/state';
import { element } from '../../charts/svg';
import { placeName } from '../../links/place';
import { selection, setOwn } from '../../state/address';
import { useAnswer } from '../../state/asked';
import { present } from '../../state/present';
import type { View } from '../view';
import { Drawing } from './drawing';
import { Phases } from './phases';
import './program.css';
import { Roles } from './roles';
import { safeDrawing } from './safe';

export const program: View = {
    name: 'program',
    title: 'Program',
    key: 'p',
    says: 'The program that the recording shows: operations, loops, roles, phases.',
    has: (about) => about.subjects.includes('program'),
    Show,
    keys: [
        ['← → ↑ ↓, drag', 'in the drawing: move it'],
        ['+ −, wheel', 'zoom'],
        ['0', 'fit the width'],
    ],
};

function Show({ about }: { about: About }) {
    const shown = present(about);
    return shown ? <Asked number={shown.number} recorded={shown.recorded} /> : <p>Nothing is recorded.</p>;
}

const LEVELS = ['graph', 'phases'] as const;

function Asked({ number, recorded }: { number: number; recorded: Recorded }) {
    const asked = useAnswer<Program>(number, 'program');
    return <State asked={asked}>{(program) => <Shown number={number} recorded={recorded} program={program} />}</State>;
}

function Shown({ number, recorded, program }: { number: number; recorded: Recorded; program: Program }) {
    const level = selection.value.own.show === 'phases' ? 'phases' : 'graph';
    const drawing = useAnswer<{ svg: string }>(number, 'drawing', { overview: level === 'phases' ? 1 : undefined });
    const text = drawing.state === 'answered' ? drawing.answer.svg : undefined;
    const chooseLevel = (next: string) => {
        // The place is one of another drawing.
        setOwn('place', '');
        setOwn('show', next === 'graph' ? '' : next);
    };
    return (
        <div class="program">
            <Figure
                title={level === 'graph' ? 'Program graph' : 'Phases of the program'}
                table={() => nodesTable(program)}
                svg={text === undefined ? null : () => safeDrawing(text) ?? element('svg')}
                controls={<Choice label="Show" values={LEVELS} value={level} choose={chooseLevel} />}
            >
                <State asked={drawing}>{({ svg }) => <Drawing key={level} text={svg} recorded={recorded} />}</State>
            </Figure>
            <div>
                <Roles program={program} size={recorded.ranks} />
                <Phases program={program} />
            </div>
        </div>
    );
}

function nodesTable({ nodes, roles }: Program) {
    return {
        columns: ['role', 'operation', 'called at', 'function', 'count', 'seconds'],
        rows: roles.flatMap((role) =>
            role.nodes.map(({ node, count, total_s }) => {
                const at = nodes[node];
                return [role.name, at?.operation, at && placeName(at), at?.function, count, total_s];
            }),
        ),
    };
}
