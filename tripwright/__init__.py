"""tripwright trains and judges LLM agents that plan trips with tools. See docs/architecture.md."""

__version__ = "0.1.0"
