"""What a cited argument supports: words, alignment, quotation and support."""
