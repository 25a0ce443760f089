// Entry point of the page.

import { render } from 'preact';
import './style.css';
import { Shell } from './shell/shell';

const container = document.getElementById('page');
if (container) render(<Shell />, container);
