"""Two tables -> a drafted schema.yaml, every line that was read off the data marked as such."""

from kinfolk.data.draft.drafting import Draft, draft, draft_schema

__all__ = ["Draft", "draft", "draft_schema"]
