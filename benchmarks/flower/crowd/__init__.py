"""An app of Flower whose nodes stand for many made-up parties each."""
