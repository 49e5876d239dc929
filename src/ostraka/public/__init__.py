"""What is public: everything that a poll says before anybody contributes."""
