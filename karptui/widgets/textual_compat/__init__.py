"""Everything that leans on Textual's own workings, and what the app does in Textual's place: each piece says why it is kept."""
