import numpy as np
from sklearn.datasets import make_classification

X, y = make_classification(12_000, n_features=8, n_informative=5, class_sep=2.0, random_state=0)
y = np.where(y == 1, "ill", "well")
X_public, X, y = X[:1000], X[1000:], y[1000:]  # public samples: their labels are never used
X_new, y_new, X, y = X[:1000], y[:1000], X[1000:], y[1000:]
hospital = np.arange(len(X)) % 1000  # a thousand hospitals with ten patients each
