"""What leans on Textual's own workings, or is done in Textual's place: each piece says what it is kept for."""
