"""Speed against peers, measured side by side in one run; ratios, because machines differ."""
