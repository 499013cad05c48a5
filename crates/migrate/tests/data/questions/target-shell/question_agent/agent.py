class QuestionAgent:
    """Stands in for an agent."""
