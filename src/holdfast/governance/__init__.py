"""Change policies, their verdicts, the register of changes and the model card."""
