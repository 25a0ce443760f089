//! What the page can ask about, as a type: the list of subjects and each of them need only this.

use std::sync::Arc;

use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::session::ViewSession;

/// A subject that can be asked about.
pub(crate) struct PageSubject {
    /// Its name in a question.
    pub name: &'static str,
    /// Whether it is available for what is open; a question may still be refused.
    pub is_available: fn(&ViewSession) -> bool,
    /// Answers a question about this subject.
    pub answer: fn(&Arc<ViewSession>, &PageQuery) -> Result<QueryAnswer, QueryError>,
}
