from ostraka import PrivateClassifier

clf = PrivateClassifier(method="avg", epsilon=1.0, lambda_=1e-3)
clf.fit(X, y, parties=hospital, auxiliary=X_public)
print(clf.score(X_new, y_new))
print(clf.certificate_)
